#pragma once

// bfloat16 now lies in records/, where columns of it are parsed. This header keeps the old path.
#include <infeed/records/bfloat16.h>
