// Preloaded into a process that the tests kill: counts the calls that change files or databases, and ends the process
// at one of them, or lets some of them fail.
//
// It stands between the process and the C library, so that it sees what Python does and what SQLite does alike.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static long n_calls = 0;
static long end_at = -1;  // never
static long fail_from = -1;
static long n_failing = 0;
static int is_counting = 0;

void kill_at_call(long number) {
    n_calls = 0;
    end_at = number;
    is_counting = 1;
}

void fail_at_calls(long first, long number) {
    kill_at_call(-1);
    fail_from = first;
    n_failing = number;
}

long calls_so_far(void) {
    return n_calls;
}

static int is_the_end(void) {
    return is_counting && n_calls++ == end_at;
}

// Whether the call that was just counted is to fail.
static int fails(void) {
    if (!is_counting || fail_from < 0 || n_calls <= fail_from || n_calls > fail_from + n_failing) {
        return 0;
    }
    errno = EIO;
    return 1;
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
    if (file > 2 && fails()) {
        return -1;
    }
    return REAL(write)(file, data, size);
}

ssize_t pwrite(int file, void const* data, size_t size, off_t place) {
    if (is_the_end()) {
        REAL(pwrite)(file, data, size / 2, place);
        end();
    }
    if (fails()) {
        return -1;
    }
    return REAL(pwrite)(file, data, size, place);
}

ssize_t pwrite64(int file, void const* data, size_t size, off64_t place) {
    if (is_the_end()) {
        REAL(pwrite64)(file, data, size / 2, place);
        end();
    }
    if (fails()) {
        return -1;
    }
    return REAL(pwrite64)(file, data, size, place);
}

#define ENDS_BEFORE(type, name, parameters, arguments) \
    type name parameters {                             \
        if (is_the_end()) {                            \
            end();                                     \
        }                                              \
        return fails() ? -1 : REAL(name) arguments;    \
    }

ENDS_BEFORE(int, fsync, (int file), (file))
ENDS_BEFORE(int, fdatasync, (int file), (file))
ENDS_BEFORE(int, ftruncate, (int file, off_t size), (file, size))
ENDS_BEFORE(int, ftruncate64, (int file, off64_t size), (file, size))
ENDS_BEFORE(int, unlink, (char const* path), (path))
ENDS_BEFORE(int, rename, (char const* from, char const* to), (from, to))
// What is told to a server of PostgreSQL.
ENDS_BEFORE(ssize_t, send, (int file, void const* data, size_t size, int flags), (file, data, size, flags))
