// cuda_bf16.h -- __nv_bfloat16, where CUDA's header of this name has it.
#pragma once
#include "emu/half.h"
