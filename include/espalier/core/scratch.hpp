// Reusable working memory for chunks that run in parallel: borrowed for one chunk, given back after.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace espalier {

// Last returned, first lent: a thread mostly gets back the memory that is still in its cache.
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
        std::unique_ptr<T> item = std::move(free_.back());
        free_.pop_back();
        return Loan(*this, std::move(item));
      }
    }
    return Loan(*this, make_());
  }

 private:
  void give_back(std::unique_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(item));
  }

  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace espalier
