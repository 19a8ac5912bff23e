// Counts the pieces of memory that a process gives back with one of some numbers of eight bytes in them. Preloaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_NUMBERS = 8 };

// Negated, so that they are not themselves in memory.
static uint64_t negated[MOST_NUMBERS];
static int n_numbers = 0;
static long n_found = 0;

void look_for(uint64_t negated_number) {
    negated[n_numbers++] = negated_number;
}

long n_freed_with_a_number(void) {
    return n_found;
}

static int holds_a_number(uint64_t const* words, size_t n_words) {
    for (size_t i = 0; i < n_words; ++i)
        for (int number = 0; number < n_numbers; ++number)
            if (words[i] == ~negated[number])
                return 1;
    return 0;
}

void free(void* memory) {
    static void (*real_free)(void*);
    if (!real_free)
        real_free = (void (*)(void*))dlsym(RTLD_NEXT, "free");
    if (memory && holds_a_number(memory, malloc_usable_size(memory) / sizeof(uint64_t)))
        __atomic_add_fetch(&n_found, 1, __ATOMIC_RELAXED);
    real_free(memory);
}
