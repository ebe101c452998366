/* tree.h -- the family whose result depends on an order. */
#ifndef WARPKIT_TREE_H
#define WARPKIT_TREE_H

#include "cpu/isa.h"
#include "warpkit.h"

wk_status WK_ISA_NAME(wk_reduce_tree)(wk_call *call);

#endif
