// asan.h -- EMU_ASAN: this build is instrumented by AddressSanitizer, which must be told of memory
// that is not to be touched, and of switched stacks.
#pragma once
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMU_ASAN 1
#endif
#endif

#ifdef EMU_ASAN
extern "C" {
void __asan_poison_memory_region(const volatile void *begin, size_t size);
void __asan_unpoison_memory_region(const volatile void *begin, size_t size);
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *shadow, const void **bottom, size_t *size);
}
#else
#define __asan_poison_memory_region(begin, size) (void)(begin)
#define __asan_unpoison_memory_region(begin, size) (void)(begin)
#endif
