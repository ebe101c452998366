/* settings.c -- see settings.h; in the core and in every plug-in. */
#include "settings.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { DEVICE, FILE_NAME, WORD, ORDER, FLAG, COUNT, REAL, BYTES, FAILURE } kind;

enum { MOST_WORDS = 3 };
static const double ANY = 9e18; /* below 2^63 */

typedef struct variable {
    const char *name;
    kind takes;
    double least, most;
    const char *words[MOST_WORDS];
    const char *purpose;
} variable;

static const variable table[WK_SETTINGS] = {
    {"WARPKIT_DEVICE", DEVICE, 0, 0, {0}, "the device of calls on host arrays that name none"},
    {"WARPKIT_NUM_THREADS", COUNT, 1, 256, {0}, "threads; default: the process's processors"},
    {"WARPKIT_ISA", WORD, 0, 0, {"base", "avx2", "avx512"}, "at most this instruction set"},
    {"WARPKIT_POOL_KEEP", BYTES, 0, ANY, {0}, "GPU memory kept between calls"},
    {"WARPKIT_POOL_LIMIT", BYTES, 0, ANY, {0}, "GPU memory handed out at most; 0: no limit"},
    {"WARPKIT_RESULTS_KEEP", BYTES, 0, ANY, {0}, "memory of freed NumPy results that is kept"},
    {"WARPKIT_PIECE", BYTES, 1024, 32 << 20, {0}, "what crosses to a GPU at a time"},
    {"WARPKIT_SYNC", FLAG, 0, 1, {0}, "wait after every kernel launch"},
    {"WARPKIT_CARVEOUT",
     COUNT,
     0,
     100,
     {0},
     "per cent of on-chip memory that is shared memory"},
    {"WARPKIT_SUMS",
     WORD,
     0,
     0,
     {"doubles", "integers"},
     "how a GPU adds floats, and the CPU products"},
    {"WARPKIT_FEW", COUNT, 0, ANY, {0}, "elements a multiprocessor of a small transpose"},
    {"WARPKIT_EMU_SCHEDULE",
     ORDER,
     0,
     0,
     {"linear", "reverse", "random"},
     "whose turn is next"},
    {"WARPKIT_EMU_SEED", COUNT, 0, ANY, {0}, "of the random schedule"},
    {"WARPKIT_EMU_MEMORY", WORD, 0, 0, {"strong", "weak"}, "when other blocks see a write"},
    {"WARPKIT_EMU_STEPS", COUNT, 1, ANY, {0}, "turns that a block may take"},
    {"WARPKIT_EMU_SECONDS", REAL, 0, 1e9, {0}, "that a thread may run without a turn; 0: any"},
    {"WARPKIT_EMU_THREADS", COUNT, 1, ANY, {0}, "of the operating system, at most 16 are used"},
    {"WARPKIT_EMU_DEVICES", COUNT, 1, 32, {0}, "how many there are"},
    {"WARPKIT_EMU_PINNED", FLAG, 0, 1, {0}, "all host memory counts as pinned"},
    {"WARPKIT_EMU_LATE", COUNT, 0, 1e9, {0}, "queries that an event is not ready for"},
    {"WARPKIT_EMU_RACES", FLAG, 0, 1, {0}, "look for races in users' kernels"},
    {"WARPKIT_EMU_FAIL", FAILURE, 0, 0, {0}, "which call of the runtime API fails, once"},
    {"WARPKIT_EMU_CALLS",
     FILE_NAME,
     0,
     0,
     {0},
     "a file that notes each call of the runtime API"},
};

static wk_settings now;
static const wk_settings *lent; /* NULL: now */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- parsing ------------------------------------------------------------------------------ */

static int
same_word(const char *a, const char *b)
{
    for (; *a && tolower((unsigned char)*a) == *b; a++, b++) continue;
    return *a == *b;
}

static int
read_word(const char *text, const char *const *words, int count, wk_setting *s)
{
    for (int i = 0; i < count && words[i]; i++) {
        if (!same_word(text, words[i])) continue;
        s->value = i;
        return 1;
    }
    return 0;
}

static int
read_flag(const char *text, wk_setting *s)
{
    static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};
    if (!read_word(text, words, sizeof words / sizeof words[0], s)) return 0;
    s->value %= 2;
    return 1;
}

/* K, M, G and T are powers of 1024, with or without iB or B behind them. */
static double
unit_of(const char **at)
{
    static const char letters[] = "kmgt";
    const char *p = *at;
    const char *found = *p ? strchr(letters, tolower((unsigned char)*p)) : NULL;
    if (found) p++;
    if (found && *p == 'i') p++;
    if (*p == 'B') p++;
    *at = p;
    return found ? ldexp(1, 10 * (int)(found - letters + 1)) : 1;
}

static int
read_number(const char *text, const variable *v, wk_setting *s)
{
    char *end;
    if (!isdigit((unsigned char)*text) && *text != '.') return 0; /* no sign, nan, inf */
    s->real = strtod(text, &end);
    const char *rest = end;
    if (v->takes == BYTES) s->real *= unit_of(&rest);
    if (end == text || *rest) return 0;
    if (!(s->real >= v->least && s->real <= v->most)) return 0;
    s->value = (int64_t)s->real;
    return v->takes == REAL || s->real == (double)s->value;
}

/* "cudaMemcpyAsync:3" */
static int
read_failure(const char *text, wk_setting *s)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || !isdigit((unsigned char)colon[1])) return 0;
    char *end;
    s->value = strtoll(colon + 1, &end, 10);
    return *end == '\0' && s->value > 0;
}

static int
read_order(const char *text, const variable *v, wk_setting *s)
{
    wk_switch one;
    if (read_word(text, v->words, MOST_WORDS, s)) return 1;
    while (wk_next_switch(&text, &one)) s->value = MOST_WORDS;
    return s->value == MOST_WORDS && *text == '\0';
}

static int
read_one(const char *text, const variable *v, wk_setting *s)
{
    switch (v->takes) {
    case DEVICE:
    case FILE_NAME: return 1;
    case WORD: return read_word(text, v->words, MOST_WORDS, s);
    case ORDER: return read_order(text, v, s);
    case FLAG: return read_flag(text, s);
    case FAILURE: return read_failure(text, s);
    default: return read_number(text, v, s);
    }
}

int
wk_next_switch(const char **text, wk_switch *s)
{
    int64_t part[4] = {0};
    int count = 0;
    const char *p = *text;
    const int of_blocks = *p != '\0' && p[strspn(p, "0123456789")] == '/';
    for (;;) {
        char *end;
        if (!isdigit((unsigned char)*p)) return 0;
        part[count++] = strtoll(p, &end, 10);
        p = end;
        if (*p == ':' && count == (of_blocks ? 2 : count == 3 ? 3 : 4)) break;
        if (*p++ != (of_blocks ? '/' : '.') || count == 4) return 0;
    }
    if (!isdigit((unsigned char)p[1])) return 0;
    char *end;
    const int64_t to = strtoll(p + 1, &end, 10);
    if (*end != '\0' && (*end != ',' || end[1] == '\0')) return 0;
    *text = *end ? end + 1 : end;
    *s = of_blocks    ? (wk_switch){part[0], -1, -1, part[1], to}
         : count == 3 ? (wk_switch){part[0], part[1], -1, part[2], to}
                      : (wk_switch){part[0], part[1], part[2], part[3], to};
    return 1;
}

/* ---- what a variable takes, in words -------------------------------------------------------- */

static void
say_range(const variable *v, const char *what, char *text, size_t size)
{
    const int n = snprintf(text, size, "%s, at least %.0f", what, v->least);
    if (v->most < ANY && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " and at most %.0f", v->most);
}

void
wk_setting_takes(wk_setting_name name, char *text, size_t size)
{
    const variable *v = &table[name];
    switch (v->takes) {
    case DEVICE: snprintf(text, size, "a device"); break;
    case FILE_NAME: snprintf(text, size, "a file's name"); break;
    case FLAG: snprintf(text, size, "0 or 1"); break;
    case COUNT: say_range(v, "a whole number", text, size); break;
    case REAL: say_range(v, "a number", text, size); break;
    case BYTES: say_range(v, "a number of bytes such as 512M", text, size); break;
    case FAILURE:
        snprintf(text, size, "a function and a number, as in 'cudaMemcpyAsync:3'");
        break;
    default:
        if (v->words[2])
            snprintf(text, size, "'%s', '%s' or '%s'%s", v->words[0], v->words[1], v->words[2],
                     v->takes == ORDER ? ", or switches as in '0.2.0:32,0.2.5.1:7'" : "");
        else
            snprintf(text, size, "'%s' or '%s'", v->words[0], v->words[1]);
    }
}

const char *
wk_setting_title(wk_setting_name name)
{
    return table[name].name;
}

const char *
wk_setting_purpose(wk_setting_name name)
{
    return table[name].purpose;
}

/* ---- reading ------------------------------------------------------------------------------ */

void
wk_settings_read(void)
{
    char takes[100];
    now.error.status = WK_OK;
    now.error.text[0] = '\0';
    for (int i = 0; i < WK_SETTINGS; i++) {
        wk_setting *s = &now.of[i];
        const char *text = getenv(table[i].name);
        memset(s, 0, sizeof *s);
        if (text == NULL || *text == '\0') continue;
        snprintf(s->text, sizeof s->text, "%s", text);
        s->given = strlen(text) < sizeof s->text && read_one(text, &table[i], s);
        if (s->given) continue;
        wk_setting_takes((wk_setting_name)i, takes, sizeof takes);
        WK_FAIL(&now.error, WK_EVALUE, "%s is '%.100s', and must be %s", table[i].name, text,
                takes);
    }
    __atomic_add_fetch(&now.reads, 1, __ATOMIC_RELEASE);
}

void
wk_settings_use(const wk_settings *settings)
{
    lent = settings;
}

const wk_settings *
wk_settings_now(void)
{
    if (lent) return lent;
    if (__atomic_load_n(&now.reads, __ATOMIC_ACQUIRE) == 0)
        pthread_once(&once, wk_settings_read);
    return &now;
}

int64_t
wk_setting_value(wk_setting_name name, int64_t otherwise)
{
    const wk_setting *s = &wk_settings_now()->of[name];
    return s->given ? s->value : otherwise;
}
