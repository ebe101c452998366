// cuda_runtime.h -- stands where CUDA's own header of this name stands, for a host compiler:
// the same kernel sources then run on the CPU. docs/emulator.md tells how.
#pragma once
#include "emu/vectors.h"
#include "emu/simt.h"
#include "emu/warp.h"
#include "emu/atomics.h"
#include "emu/math.h"
#include "emu/api.h"
#ifdef EMU_USER
// By a name of its own: setup.py, which follows #include, builds no kernel anew for it.
#define EMU_USER_HEADER "emu/user.h"
#include EMU_USER_HEADER
#endif
