// weights.cuh -- histograms of weights.
#pragma once
#include "warpkit.h"

namespace wk::histogram
{

// Sums of call->weights, or another fold, for each bin of call->in, whole arrays in C order on the device.
wk_status weighted(wk_call *call);

} // namespace wk::histogram
