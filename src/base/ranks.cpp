// What all kinds of ranks share: gathering, broadcasting and comparing.
#include <fmt/format.h>

#include <algorithm>

#include "base/rank_bytes.hpp"
#include "espalier/error.hpp"

namespace espalier {

void Ranks::all_gather(std::span<std::byte> all, std::span<const std::size_t> starts) {
  const auto r = static_cast<std::size_t>(rank_);
  count_sent((starts[r + 1] - starts[r]) * static_cast<std::size_t>(size_ - 1));
  gather(all, starts);
}

std::unique_ptr<Ranks::Gathering> Ranks::begin_gather(std::span<std::byte> all, std::span<const std::size_t> starts) {
  class AtTheEnd : public Gathering {
   public:
    AtTheEnd(Ranks& ranks, std::span<std::byte> all, std::span<const std::size_t> starts)
        : ranks_(ranks), all_(all), starts_(starts.begin(), starts.end()) {}
    void finish() override { ranks_.gather(all_, starts_); }

   private:
    Ranks& ranks_;
    std::span<std::byte> all_;
    std::vector<std::size_t> starts_;
  };
  const auto r = static_cast<std::size_t>(rank_);
  count_sent((starts[r + 1] - starts[r]) * static_cast<std::size_t>(size_ - 1));
  std::unique_ptr<Gathering> gathering = begun(all, starts);
  return gathering ? std::move(gathering) : std::make_unique<AtTheEnd>(*this, all, starts);
}

void Ranks::broadcast(Bytes& bytes) {
  const std::uint64_t size = all_gather<std::uint64_t>(bytes.size()).front();
  bytes.resize(size);
  std::vector<std::size_t> starts(static_cast<std::size_t>(size_) + 1, size);
  starts[0] = 0;
  all_gather(bytes, starts);
}

std::string Ranks::broadcast(const std::string& text) {
  const auto mine = std::as_bytes(std::span(text));
  Bytes bytes(mine.begin(), mine.end());
  broadcast(bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> Ranks::all_gather_text(const std::string& mine) {
  std::vector<std::size_t> starts{0};
  for (const std::uint64_t size : all_gather<std::uint64_t>(mine.size())) starts.push_back(starts.back() + size);
  std::string all(starts.back(), ' ');
  const auto r = static_cast<std::size_t>(rank_);
  std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(starts[r]));
  all_gather(std::as_writable_bytes(std::span(all)), starts);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) texts.push_back(all.substr(starts[i], starts[i + 1] - starts[i]));
  return texts;
}

void Ranks::check_same(const std::string& what, const std::string& mine) {
  const std::vector<std::string> all = all_gather_text(mine);
  const std::string* common = nullptr;
  std::ptrdiff_t most = 0;
  for (const std::string& one : all)  // of equally many, those of the lowest rank
    if (const auto count = std::ranges::count(all, one); count > most) most = count, common = &one;
  std::string others;
  for (int r = 0; r < size_; ++r)
    if (all[static_cast<std::size_t>(r)] != *common)
      others += fmt::format("{}rank {} ({})", others.empty() ? "" : ", ", r, host(r));
  if (!others.empty())
    fail("ranks", fmt::format("a difference in the {} on {}", what, others), fmt::format("the same on all {}", size_));
}

bool Ranks::any(bool mine) {
  const std::vector<std::uint8_t> all = all_gather<std::uint8_t>(mine);
  return std::ranges::any_of(all, [](std::uint8_t one) { return one != 0; });
}

RankShare share_of(std::size_t items, std::size_t unit, int rank, int size) {
  const std::size_t units = (items + unit - 1) / unit, r = static_cast<std::size_t>(rank);
  const auto n = static_cast<std::size_t>(size);
  return {std::min(items, units * r / n * unit), std::min(items, units * (r + 1) / n * unit)};
}

std::vector<std::size_t> share_starts(std::size_t items, std::size_t unit, int size, std::size_t scale) {
  std::vector<std::size_t> starts;
  for (int r = 0; r < size; ++r) starts.push_back(share_of(items, unit, r, size).begin * scale);
  starts.push_back(items * scale);
  return starts;
}

Packer& Packer::put(std::span<const std::byte> bytes) {
  put(static_cast<std::uint64_t>(bytes.size()));
  append(bytes.data(), bytes.size());
  return *this;
}

void Packer::append(const void* from, std::size_t count) {
  if (count == 0) return;
  bytes_.resize(bytes_.size() + count);
  std::memcpy(bytes_.data() + bytes_.size() - count, from, count);
}

std::span<const std::byte> Unpacker::next(std::size_t count) {
  if (count > bytes_.size())
    fail("message of a rank", fmt::format("{} bytes", bytes_.size()), fmt::format("{} or more", count));
  const auto part = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return part;
}

}  // namespace espalier
