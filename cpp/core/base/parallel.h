// Threads over independent items, and the lock that lets predictions run beside each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/standard_floats.h"
#include "base/wiped.h"

namespace deciduous {

// Called now and then in the calling thread with the number of items done, at the end with all of them; may throw to
// stop the work.
using Progress = std::function<void(std::size_t n_done)>;

inline constexpr std::chrono::milliseconds kBetweenReports{50};

// A thread that is waited for at its end: std::jthread, which the libc++ of Apple and of older clangs does not have.
class JoinedThread {
public:
    template <typename Body, typename... Arguments>
        requires std::invocable<Body, Arguments...>
    explicit JoinedThread(Body&& body, Arguments&&... arguments)
        : thread_(std::forward<Body>(body), std::forward<Arguments>(arguments)...) {}
    JoinedThread(JoinedThread&&) noexcept = default;
    JoinedThread& operator=(JoinedThread&&) = delete;
    ~JoinedThread() {
        if (thread_.joinable())
            thread_.join();
    }

private:
    std::thread thread_;
};

[[nodiscard]] inline std::size_t n_workers(std::size_t n_items, std::size_t n_threads) {
    return std::max<std::size_t>(1, std::min(n_items, n_threads));
}

// Calls body(item, worker) for each item below n_items, with worker < n_workers(n_items, n_threads). The first
// exception stops the remaining work and is thrown again here.
template <typename Body>
void parallel_for(std::size_t n_items, std::size_t n_threads, Body const& body, Progress const& progress = {}) {
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> n_done{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;  // of the next three
    std::exception_ptr error;
    std::size_t n_helpers = 0;
    std::condition_variable helper_is_done;

    auto const keeping_errors = [&](auto const& action) {
        try {
            action();
        } catch (...) {
            std::scoped_lock const lock(mutex);
            if (!error)
                error = std::current_exception();
            stop = true;
        }
    };
    auto const work = [&](std::size_t worker, Progress const& report) {
        for (std::size_t item = next++; item < n_items && !stop; item = next++) {
            body(item, worker);
            ++n_done;
            if (report)
                report(n_done);
        }
    };
    auto const help = [&](std::size_t worker) {
        StandardFloats const floats;  // as the calling thread has them
        keeping_errors([&] { work(worker, {}); });
        wipe_dead_stack();
        std::scoped_lock const lock(mutex);
        --n_helpers;
        helper_is_done.notify_one();
    };
    // The helpers may have taken all items, or the longest: somebody still has to report, and to hear of an interrupt.
    auto const report_on_helpers = [&] {
        for (bool is_done = false; !is_done;) {
            std::unique_lock lock(mutex);
            is_done = helper_is_done.wait_for(lock, kBetweenReports, [&] { return n_helpers == 0; });
            lock.unlock();
            progress(n_done);
        }
    };
    // Where no more threads can be had, those that are there do all of it.
    auto const start_helpers = [&](std::vector<JoinedThread>& threads) {
        try {
            for (std::size_t worker = 1; worker < n_workers(n_items, n_threads); ++worker) {
                std::scoped_lock const lock(mutex);
                threads.emplace_back(help, worker);
                ++n_helpers;
            }
        } catch (...) {
        }
    };
    {
        std::vector<JoinedThread> threads;
        start_helpers(threads);
        keeping_errors([&] {
            work(0, progress);
            if (progress && !threads.empty())
                report_on_helpers();
        });
        wipe_dead_stack();
    }
    if (error)
        std::rethrow_exception(error);
}

// The same with something that each thread has for itself, such as scratch memory: calls body(item, its). `own` has
// what was left from before, and gets more from make() where there are more threads.
template <typename Own, typename Make, typename Body>
void parallel_for_with(std::vector<Own>& own, Make const& make, std::size_t n_items, std::size_t n_threads,
                       Body const& body, Progress const& progress = {}) {
    while (own.size() < n_workers(n_items, n_threads))
        own.push_back(make());
    parallel_for(n_items, n_threads, [&](std::size_t item, std::size_t worker) { body(item, own[worker]); }, progress);
}

// A shared mutex in which a writer waits only for the readers that came before it: deletions get their turn under
// steady predictions.
class FairSharedMutex {
public:
    void lock() {
        std::scoped_lock const turn(gate_);
        mutex_.lock();
        is_exclusive_ = true;
    }
    void unlock() {
        is_exclusive_ = false;
        mutex_.unlock();
    }
    void lock_shared() {
        std::scoped_lock const turn(gate_);
        mutex_.lock_shared();
    }
    void unlock_shared() { mutex_.unlock_shared(); }

    // Whether somebody has it alone; for a forked process, where nobody else can change it.
    [[nodiscard]] bool is_exclusive() const { return is_exclusive_; }

private:
    std::mutex gate_;
    std::shared_mutex mutex_;
    std::atomic<bool> is_exclusive_ = false;
};

}  // namespace deciduous
