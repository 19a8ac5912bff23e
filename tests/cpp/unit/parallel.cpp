// Threads over independent items, and the lock of a forest.
#include "base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace deciduous;

TEST_CASE("every item is done once, whatever the number of threads") {
    for (std::size_t const n_threads : {1, 2, 7}) {
        for (std::size_t const n_items : {0, 1, 3, 1000}) {
            std::vector<std::atomic<int>> n_times(n_items);
            parallel_for(n_items, n_threads, [&](std::size_t item, std::size_t worker) {
                CHECK(worker < n_workers(n_items, n_threads));
                ++n_times[item];
            });
            for (auto const& n : n_times)
                CHECK(n == 1);
        }
    }
}

TEST_CASE("the first exception stops the work and is thrown again") {
    for (std::size_t const n_threads : {1, 4}) {
        std::atomic<std::size_t> n_begun{0};
        auto const fail = [&](std::size_t item, std::size_t) {
            ++n_begun;
            if (item == 5)
                throw std::runtime_error("item 5");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // else the others may be done before it is told
        };
        CHECK_THROWS_WITH(parallel_for(20000, n_threads, fail), "item 5");
        CHECK(n_begun.load() < 20000);
    }
}

TEST_CASE("progress is told in the calling thread, never less than before, and all at the end") {
    for (std::size_t const n_threads : {1, 3}) {
        auto const caller = std::this_thread::get_id();
        std::size_t last = 0;
        auto const progress = [&](std::size_t n_done) {
            CHECK(std::this_thread::get_id() == caller);
            CHECK(n_done >= last);
            last = n_done;
        };
        parallel_for(200, n_threads, [](std::size_t, std::size_t) {}, progress);
        CHECK(last == 200);
    }
}

TEST_CASE("progress may stop the work") {
    auto const stop = [](std::size_t) { throw std::runtime_error("enough"); };
    CHECK_THROWS_WITH(parallel_for(100, 3, [](std::size_t, std::size_t) {}, stop), "enough");
}

TEST_CASE("each thread has its own, made once and kept for the next time") {
    std::vector<std::unique_ptr<std::size_t>> sums;
    int n_made = 0;
    auto const make = [&] {
        ++n_made;
        return std::make_unique<std::size_t>(0);
    };
    auto const add = [](std::size_t item, std::unique_ptr<std::size_t>& sum) { *sum += item; };
    parallel_for_with(sums, make, 1000, 3, add);
    parallel_for_with(sums, make, 1000, 2, add);
    CHECK(n_made == 3);
    CHECK(sums.size() == 3);
    CHECK(*sums[0] + *sums[1] + *sums[2] == 2 * 499500);
}

TEST_CASE("a thread with little to do makes no more of its own than there are items") {
    std::vector<int> own;
    parallel_for_with(own, [] { return 0; }, 2, 8, [](std::size_t, int&) {});
    CHECK(own.size() == 2);
}

TEST_CASE("readers share the lock of a forest, a writer has it alone") {
    FairSharedMutex mutex;
    {
        std::shared_lock const first(mutex);
        std::shared_lock const second(mutex);
        CHECK_FALSE(mutex.is_exclusive());
    }
    mutex.lock();
    CHECK(mutex.is_exclusive());
    mutex.unlock();
    CHECK_FALSE(mutex.is_exclusive());
}

TEST_CASE("a writer gets its turn while others read again and again") {
    FairSharedMutex mutex;
    std::atomic<bool> has_written{false};
    std::vector<JoinedThread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back([&] {
            while (!has_written)
                std::shared_lock const lock(mutex);
        });
    std::unique_lock const lock(mutex);
    has_written = true;
}
