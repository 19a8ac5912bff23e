#include "base/kernels.h"

#include <cstdlib>
#include <cstring>

namespace deciduous::kernels {

extern Set const kPlain;
#ifdef __x86_64__
extern Set const kAvx2;
extern Set const kAvx512;
#endif

Sets available() {
    Sets sets{{&kPlain}, 1};
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v3") != 0)
        sets.sets[sets.n++] = &kAvx2;
    if (__builtin_cpu_supports("x86-64-v4") != 0)
        sets.sets[sets.n++] = &kAvx512;
#endif
    return sets;
}

namespace {

// The best one, or the one that was asked for if the machine can run it.
Set const* choose() {
    Sets const sets = available();
    char const* const wanted = std::getenv("DECIDUOUS_PROCESSOR");
    for (std::size_t i = 0; wanted != nullptr && i < sets.n; ++i)
        if (std::strcmp(wanted, sets.sets[i]->name) == 0)
            return sets.sets[i];
    return sets.sets[sets.n - 1];
}

}  // namespace

Set const* const chosen = choose();

}  // namespace deciduous::kernels
