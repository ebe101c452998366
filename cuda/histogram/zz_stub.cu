#include "histogram/ways.cuh"
namespace wk::histogram
{
wk_status
weighted(wk_call *call)
{
    return WK_FAIL(&call->error, WK_EVALUE, "not yet");
}
} // namespace wk::histogram
