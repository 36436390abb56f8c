#include "base/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace espalier {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
Hasher::~Hasher() = default;

Hasher& Hasher::add(const void* bytes, std::size_t count) {
  if (count) XXH3_128bits_update(state_->xxh, bytes, count);
  return *this;
}

std::string Hasher::hex() const {
  const XXH128_hash_t h = XXH3_128bits_digest(state_->xxh);
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

}  // namespace espalier
