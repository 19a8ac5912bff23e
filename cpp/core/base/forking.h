// What a forked process has to know: it has a copy of everything but of the threads, so a lock that another thread held
// stays locked for ever, and what that thread was changing stays half changed.
#pragma once

#include <functional>

namespace deciduous {

// Runs an action in forked processes, before anything else does there, for as long as this exists.
class AfterFork {
public:
    explicit AfterFork(std::function<void()> action);
    ~AfterFork();
    AfterFork(AfterFork const&) = delete;
    AfterFork& operator=(AfterFork const&) = delete;

private:
    friend class ForkRegistry;
    std::function<void()> action_;
    AfterFork* previous_ = nullptr;
    AfterFork* next_ = nullptr;
};

}  // namespace deciduous
