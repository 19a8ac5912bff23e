// Sets the arithmetic of a thread as careless libraries do, and tells what it is.
#include <fenv.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
enum { FLUSH = 0x8040 };  // FTZ and DAZ
static unsigned long control(void) {
    return _mm_getcsr();
}
static void set_control(unsigned long word) {
    _mm_setcsr((unsigned)word);
}
#elif defined(__aarch64__)
enum { FLUSH = 1 << 24 };  // FZ
static unsigned long control(void) {
    unsigned long word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}
static void set_control(unsigned long word) {
    __asm__ volatile("msr fpcr, %0" : : "r"(word));
}
#else
#error "only for x86-64 and ARM"
#endif

int set_mode(char const* name) {
    fesetenv(FE_DFL_ENV);
    switch (name[0]) {
        case 'f':  // flush to zero
            set_control(control() | FLUSH);
            return 0;
        case 'u':
            return fesetround(FE_UPWARD);
        case 'd':
            return fesetround(FE_DOWNWARD);
        case 't':
            return fesetround(FE_TOWARDZERO);
        default:
            return 0;
    }
}

int flushes(void) {
    return (control() & FLUSH) != 0;
}

int rounding(void) {
    return fegetround();
}
