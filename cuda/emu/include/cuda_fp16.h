// cuda_fp16.h -- __half, where CUDA's header of this name has it.
#pragma once
#include "emu/half.h"
