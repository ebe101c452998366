/* meant.c -- see meant.h. */
#include "meant.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 31 }; /* letters of a name */

static int
least(int a, int b)
{
    return a < b ? a : b;
}

/* Letters to change, insert or leave out, and neighbours to exchange (F. Damerau, 1964). */
static int
distance(const char *a, const char *b, int m, int n)
{
    int off[MOST + 1][MOST + 1];
    for (int i = 0; i <= m; i++) off[i][0] = i;
    for (int j = 0; j <= n; j++) off[0][j] = j;
    for (int i = 1; i <= m; i++) {
        for (int j = 1; j <= n; j++) {
            const int changed = off[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            off[i][j] = least(changed, least(off[i - 1][j], off[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                off[i][j] = least(off[i][j], off[i - 2][j - 2] + 1);
        }
    }
    return off[m][n];
}

const char *
wk_meant(char into[WK_MEANT], const char *text, const char *const *names, int n)
{
    const int length = strlen(text) > MOST ? MOST + 1 : (int)strlen(text);
    int nearest = MOST, found = -1;
    into[0] = '\0';
    for (int i = 0; i < n && length <= MOST; i++) {
        const int letters = (int)strlen(names[i]);
        if (letters > MOST) continue;
        const int off = distance(text, names[i], length, letters);
        if (off >= nearest || 3 * off >= (letters > length ? letters : length)) continue;
        nearest = off;
        found = i;
    }
    if (found >= 0) snprintf(into, WK_MEANT, " (did you mean '%s'?)", names[found]);
    return into;
}
