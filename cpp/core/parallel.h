// Threads over independent items, and the lock that lets predictions run beside each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace deciduous {

// Called now and then in the calling thread with the number of items done; may throw to stop the work.
using Progress = std::function<void(std::size_t n_done)>;

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
    std::exception_ptr error;
    std::mutex error_mutex;
    auto const work = [&](std::size_t worker) {
        try {
            for (std::size_t item = next++; item < n_items && !stop; item = next++) {
                body(item, worker);
                ++n_done;
                if (worker == 0 && progress)
                    progress(n_done);
            }
        } catch (...) {
            std::scoped_lock const lock(error_mutex);
            if (!error)
                error = std::current_exception();
            stop = true;
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t worker = 1; worker < n_workers(n_items, n_threads); ++worker)
            threads.emplace_back(work, worker);
        work(0);
    }
    if (error)
        std::rethrow_exception(error);
}

// A shared mutex in which a writer waits only for the readers that came before it: deletions get their turn under
// steady predictions.
class FairSharedMutex {
public:
    void lock() {
        std::scoped_lock const turn(gate_);
        mutex_.lock();
    }
    void unlock() { mutex_.unlock(); }
    void lock_shared() {
        std::scoped_lock const turn(gate_);
        mutex_.lock_shared();
    }
    void unlock_shared() { mutex_.unlock_shared(); }

private:
    std::mutex gate_;
    std::shared_mutex mutex_;
};

}  // namespace deciduous
