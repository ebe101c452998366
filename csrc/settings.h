/* settings.h -- what the environment says: one table of variables, one parser, read once.
 *
 * The core reads at its first call, and lends its plug-ins what it has read. A variable that cannot
 * be read is an error that names it: of every call, since none knows which settings it will ask for. */
#ifndef WARPKIT_SETTINGS_H
#define WARPKIT_SETTINGS_H

#include "warpkit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { /* settings.c has their names and what they take, in this order */
               WK_SET_DEVICE,
               WK_SET_NUM_THREADS,
               WK_SET_ISA,
               WK_SET_POOL_KEEP,
               WK_SET_POOL_LIMIT,
               WK_SET_RESULTS_KEEP,
               WK_SET_PIECE,
               WK_SET_SYNC,
               WK_SET_CARVEOUT,
               WK_SET_SUMS,
               WK_SET_FEW,
               WK_SET_EMU_SCHEDULE,
               WK_SET_EMU_SEED,
               WK_SET_EMU_MEMORY,
               WK_SET_EMU_STEPS,
               WK_SET_EMU_SECONDS,
               WK_SET_EMU_THREADS,
               WK_SET_EMU_DEVICES,
               WK_SET_EMU_PINNED,
               WK_SET_EMU_LATE,
               WK_SET_EMU_RACES,
               WK_SET_EMU_FAIL,
               WK_SET_EMU_CALLS,
               WK_SETTINGS
} wk_setting_name;

typedef struct wk_setting {
    int given;      /* it is set, and not empty */
    char text[256]; /* as it is set             */
    int64_t value;  /* a number, or which word  */
    double real;
} wk_setting;

typedef struct wk_settings {
    wk_setting of[WK_SETTINGS];
    unsigned reads; /* how often the environment was read */
    wk_error error; /* of the first that cannot be        */
} wk_settings;

/* In the order of an emulated device's threads: thread `to` of a block goes on where `thread` has come
 * to its point number `point`, "launch.block.thread.point:to"; or where the block begins and each of
 * its barriers opens (thread -1), "launch.block.point:to". Or block `to` runs as number `point` of them (block -1), "launch/point:to". */
typedef struct wk_switch {
    int64_t launch, block, thread, point, to;
} wk_switch;

/* The first of a list with commas, behind which *text points then; 0: there is none. */
int wk_next_switch(const char **text, wk_switch *s);

/* As the environment had them at the first call of this. */
const wk_settings *wk_settings_now(void);

/* The number, or which word, of a variable that is set; else `otherwise`. */
int64_t wk_setting_value(wk_setting_name name, int64_t otherwise);

/* Reads the environment again, for tests: no other call may be under way. */
void wk_settings_read(void);

/* From now on wk_settings_now() gives these: a plug-in's are the core's. */
void wk_settings_use(const wk_settings *settings);

/* "WARPKIT_PIECE", what it takes, and what it is for. */
const char *wk_setting_title(wk_setting_name name);
void wk_setting_takes(wk_setting_name name, char *text, size_t size);
const char *wk_setting_purpose(wk_setting_name name);

#ifdef __cplusplus
}
#endif
#endif
