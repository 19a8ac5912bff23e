// The arithmetic in which scores, thresholds and shares are defined (docs/algorithm.md): IEEE numbers, rounded to
// nearest, subnormal ones among them.
//
// Each thread can switch its processor to another arithmetic, and libraries do so: loading one that was compiled with
// -ffast-math is enough to flush subnormal numbers to zero (FTZ and DAZ in MXCSR on x86, FZ in FPCR on ARM), and some
// set the rounding mode or let inexact results trap. A forest must not depend on it.
#pragma once

#include <cfenv>

namespace deciduous {

// Sets the default environment of the C standard, and at its end the one that was there. On x86 and on ARM that
// includes whether subnormal numbers are flushed.
class StandardFloats {
public:
    StandardFloats() {
        std::fegetenv(&former_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~StandardFloats() { std::fesetenv(&former_); }
    StandardFloats(StandardFloats const&) = delete;
    StandardFloats& operator=(StandardFloats const&) = delete;

private:
    std::fenv_t former_{};
};

}  // namespace deciduous
