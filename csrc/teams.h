/* teams.h -- how a GPU's threads share a reduction, by shape; cuda/reduce/teams.cuh does so. */
#ifndef WARPKIT_TEAMS_H
#define WARPKIT_TEAMS_H

#include "warpkit.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WK_BLOCK = 256,     /* threads of a block                       */
    WK_DRAWS = 512,     /* chunks that a block draws of an output   */
    WK_DRAW = 64 << 10, /* bytes of a chunk, or a multiple of it */
    WK_DRAW_ROWS = 32   /* of a thread's rows of columns, likewise */
};

/* An output has `parts` parts, each folded by a team; a block has `width` teams, of neighbouring
 * outputs. Where columns are folded neighbouring threads have neighbouring outputs, so that a warp
 * reads what lies side by side; else they have the same output. Of some columns a thread has
 * several. */
typedef struct wk_teams {
    int team, width;
    int columns;         /* of a thread; 0: the outputs are no columns                        */
    int vector;          /* runs are read 16 bytes at a time                                  */
    int64_t run, runs;   /* an output's elements: so many runs; of several, a part has some   */
    int64_t parts, part; /* units of a part: elements, or runs where there are several        */
    int64_t chunk; /* units that a part's block draws at a time; 0: each has its own part */
} wk_teams;

void wk_plan_teams(const wk_call *call, int processors, wk_teams *plan);

#ifdef __cplusplus
}
#endif

#endif
