/* meant.h -- which name somebody meant who wrote another. */
#ifndef WARPKIT_MEANT_H
#define WARPKIT_MEANT_H

#include <stddef.h>

enum { WK_MEANT = 48 };

/* " (did you mean 'sum'?)" of the name that text is nearest to, if less than a third of its letters are
 * others, left out, or too many; else "". Of n names. */
const char *wk_meant(char into[WK_MEANT], const char *text, const char *const *names, int n);

#endif
