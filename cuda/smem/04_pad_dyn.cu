// smem / 04_pad_dyn -- padded rows in memory whose size the launch says.
//
// In, out   see tile.cuh; four rows of the table, by how the tile is written and read.
// How       the padding is in the step from row to row, and in the bytes that the launch asks for.
// Better    than 02_dyn: columns take all banks.
// Source    see tile.cuh.
#include "smem/tile.cuh"

using wk::smem::by, wk::smem::launch_tile;

extern "C" wk_status
wk_smem_tile_cuda_row_row_pad_dyn(wk_call *call)
{
    return launch_tile<by::rows, by::rows>(call, true, call->args.tile.pad);
}

extern "C" wk_status
wk_smem_tile_cuda_col_col_pad_dyn(wk_call *call)
{
    return launch_tile<by::columns, by::columns>(call, true, call->args.tile.pad);
}

extern "C" wk_status
wk_smem_tile_cuda_row_col_pad_dyn(wk_call *call)
{
    return launch_tile<by::rows, by::columns>(call, true, call->args.tile.pad);
}

extern "C" wk_status
wk_smem_tile_cuda_col_row_pad_dyn(wk_call *call)
{
    return launch_tile<by::columns, by::rows>(call, true, call->args.tile.pad);
}
