// Reusable working memory for chunks that run in parallel: borrowed for one chunk, given back after.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace espalier {

// A thread gets back the memory it had last, if that is free: it may still be in the cache of its core.
template <class T>
class ScratchPool {
 public:
  explicit ScratchPool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  class Loan {
   public:
    Loan(ScratchPool& pool, std::unique_ptr<T> item) : pool_(pool), item_(std::move(item)) {}
    ~Loan() { pool_.give_back(std::move(item_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    T& operator*() const { return *item_; }
    T* operator->() const { return item_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<T> item_;
  };

  Loan borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        const auto mine = std::find_if(free_.rbegin(), free_.rend(),
                                       [](const Returned& r) { return r.by == std::this_thread::get_id(); });
        if (mine != free_.rend()) std::swap(*mine, free_.back());
        std::unique_ptr<T> item = std::move(free_.back().item);
        free_.pop_back();
        return Loan(*this, std::move(item));
      }
    }
    return Loan(*this, make_());
  }

 private:
  struct Returned {
    std::thread::id by;
    std::unique_ptr<T> item;
  };

  void give_back(std::unique_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    free_.push_back({std::this_thread::get_id(), std::move(item)});
  }

  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<Returned> free_;
};

}  // namespace espalier
