#include "base/forking.h"

#include <mutex>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace deciduous {

// All that are there, in a list. Nobody forks while holding the mutex, so the fork may wait for it.
class ForkRegistry {
public:
    static void add(AfterFork& its) {
        std::scoped_lock const lock(mutex_);
        its.next_ = first_;
        if (first_ != nullptr)
            first_->previous_ = &its;
        first_ = &its;
    }

    static void remove(AfterFork& its) {
        std::scoped_lock const lock(mutex_);
        (its.previous_ != nullptr ? its.previous_->next_ : first_) = its.next_;
        if (its.next_ != nullptr)
            its.next_->previous_ = its.previous_;
    }

    static void before_fork() { mutex_.lock(); }
    static void after_fork() { mutex_.unlock(); }
    static void after_fork_in_child() {
        for (AfterFork* its = first_; its != nullptr; its = its->next_)
            its->action_();
        mutex_.unlock();
    }

private:
    static inline std::mutex mutex_;
    static inline AfterFork* first_ = nullptr;
};

namespace {

#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] int const is_registered =
    pthread_atfork(ForkRegistry::before_fork, ForkRegistry::after_fork, ForkRegistry::after_fork_in_child);
#endif

}  // namespace

AfterFork::AfterFork(std::function<void()> action) : action_(std::move(action)) {
    ForkRegistry::add(*this);
}

AfterFork::~AfterFork() {
    ForkRegistry::remove(*this);
}

}  // namespace deciduous
