// Preloaded into a process that the tests kill: counts the calls that change files, and ends the process at one of
// them.
//
// It stands between the process and the C library, so that it sees what Python does and what SQLite does alike.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

static long n_calls = 0;
static long end_at = -1;  // never
static int is_counting = 0;

void kill_at_call(long number) {
    n_calls = 0;
    end_at = number;
    is_counting = 1;
}

long calls_so_far(void) {
    return n_calls;
}

static int is_the_end(void) {
    return is_counting && n_calls++ == end_at;
}

static void end(void) {
    kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// A write ends half way: that is what a process that is killed may leave.
ssize_t write(int file, void const* data, size_t size) {
    if (file > 2 && is_the_end()) {
        REAL(write)(file, data, size / 2);
        end();
    }
    return REAL(write)(file, data, size);
}

ssize_t pwrite(int file, void const* data, size_t size, off_t place) {
    if (is_the_end()) {
        REAL(pwrite)(file, data, size / 2, place);
        end();
    }
    return REAL(pwrite)(file, data, size, place);
}

ssize_t pwrite64(int file, void const* data, size_t size, off64_t place) {
    if (is_the_end()) {
        REAL(pwrite64)(file, data, size / 2, place);
        end();
    }
    return REAL(pwrite64)(file, data, size, place);
}

#define ENDS_BEFORE(type, name, parameters, arguments) \
    type name parameters {                             \
        if (is_the_end()) {                            \
            end();                                     \
        }                                              \
        return REAL(name) arguments;                   \
    }

ENDS_BEFORE(int, fsync, (int file), (file))
ENDS_BEFORE(int, fdatasync, (int file), (file))
ENDS_BEFORE(int, ftruncate, (int file, off_t size), (file, size))
ENDS_BEFORE(int, ftruncate64, (int file, off64_t size), (file, size))
ENDS_BEFORE(int, unlink, (char const* path), (path))
ENDS_BEFORE(int, rename, (char const* from, char const* to), (from, to))
