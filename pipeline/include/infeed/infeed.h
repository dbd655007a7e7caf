#pragma once

// All of infeed's pipeline: sources, stages, iterators. The simulated TPU is <infeed/device.h>.
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/cache.h>
#include <infeed/pipeline/concatenate.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/enumerate.h>
#include <infeed/pipeline/files.h>
#include <infeed/pipeline/filter.h>
#include <infeed/pipeline/flat_map.h>
#include <infeed/pipeline/generate.h>
#include <infeed/pipeline/interleave.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/parse.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/random_integers.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/records.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/pipeline/shard.h>
#include <infeed/pipeline/shuffle.h>
#include <infeed/pipeline/skip.h>
#include <infeed/pipeline/skip_errors.h>
#include <infeed/pipeline/slices.h>
#include <infeed/pipeline/take.h>
#include <infeed/pipeline/zip.h>
