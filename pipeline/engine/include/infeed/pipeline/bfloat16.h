#pragma once

// bfloat16 lies where records are parsed, as columns of it are; this is where it was before.
#include <infeed/records/bfloat16.h>
