// The signature of a build: hashes of everything that trains, hardens or simulates, on small problems in memory.
// A change that is meant to keep every bit leaves all of them as they are; a line that differs says where to look.
#pragma once

#include <functional>
#include <string>

#include "espalier/thread_pool.hpp"

namespace espalier {

// Called with each case as soon as it is done.
using SignatureWatcher = std::function<void(const std::string& name, const std::string& hash)>;

// One hash over those of all cases, the same for any pool. Only numbers are hashed, never names, shapes, configurations
// or bytes of files: these may change while the numbers stay. An Error when a run that was cut in two and resumed does
// not end in the bits of the unbroken one.
// Only cases whose name contains the filter: an Error when there is none.
std::string signature(const ThreadPool& pool, const SignatureWatcher& watcher, const std::string& filter = "");

}  // namespace espalier
