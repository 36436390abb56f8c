// The rooms below everything: random numbers, loops over chunks, tensors of files, options as data.
#include <algorithm>

#include "espalier/fields.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/thread_pool.hpp"
#include "fuzz/api.hpp"

namespace espalier::fuzz {
namespace {

enum class Colour { kRed, kGreen };

struct Brush {
  int size = 3;
  std::uint64_t count = 1;
  float width = 0.5f;
  double weight = 1;
  bool round = true;
  std::string name = "brush";
  Colour colour = Colour::kRed;
};

Fields fields_of(Brush& b) {
  Fields f;
  f.add("size", b.size, "in pixels", 1, 100);
  f.add("count", b.count, "how many", 0, 1e6);
  f.add("width", b.width, "of a stroke", 0, 1);
  f.add("weight", b.weight, "of the brush", -1, 1);
  f.add("round", b.round, "round instead of square");
  f.add("name", b.name, "what it is called");
  f.add("colour", b.colour, "of the paint", {"red", "green"});
  return f;
}

constexpr const char* kTexts[] = {"0",    "1",  "-1",   "200", "1e30", "nan",   "inf", "true", "no",
                                  "",     " ",  "red",  "0x1", "1e",   "green", "99",  "99.5", "18446744073709551616",
                                  "-0.5", "id", "\xff", "siz", "sizes"};

std::string text_of(Choices& c) { return kTexts[c.below(std::size(kTexts))]; }

void use_fields(Choices& c) {
  Brush brush;
  Fields fields = fields_of(brush);
  for (std::size_t n = c.below(8); n > 0; --n)
    attempt([&] {
      Field& field = c.rarely() ? fields.at(text_of(c)) : fields.list()[c.below(fields.list().size())];
      c.below(2) ? field.set_text(text_of(c)) : field.set(static_cast<double>(c.number()));
      if (field.text().empty() && field.kind() != Field::Kind::kText) throw std::logic_error("a field without a text");
    });
  // Members that were set by hand.
  if (c.rarely()) brush.colour = static_cast<Colour>(c.below(256));
  if (c.rarely()) brush.width = c.number();
  if (c.rarely()) brush.size = static_cast<int>(c.below(256)) - 100;
  attempt([&] {
    const Brush good = checked(brush);
    if (good.size < 1 || good.size > 100 || !(good.width >= 0 && good.width <= 1) || good.colour > Colour::kGreen)
      throw std::logic_error("an option out of its range");
  });
}

void use_tensors(Choices& c) {
  SafetensorsFile file;
  for (std::size_t n = c.below(5); n > 0; --n)
    attempt([&] {
      const std::string name(1, static_cast<char>('a' + c.below(4)));
      const std::vector<std::size_t> shape{c.below(4), c.rarely() ? std::size_t{1} << 63 : c.below(4)};
      const std::size_t size = c.size(shape[0] * shape[1] % 100);
      switch (c.below(4)) {
        case 0: file.add(name, shape, std::span<const float>(c.floats(size))); break;
        case 1: file.add(name, shape, std::span<const std::int32_t>(std::vector<std::int32_t>(size))); break;
        case 2: file.add(name, shape, std::span<const std::int64_t>(std::vector<std::int64_t>(size))); break;
        default: file.add(name, shape, std::span<const std::uint8_t>(std::vector<std::uint8_t>(size)));
      }
    });
  if (c.rarely()) file.tensors["by hand"] = {static_cast<DType>(c.below(6)), {c.below(4)}, {}};
  if (c.rarely()) file.metadata[text_of(c)] = text_of(c);
  const std::string name(1, static_cast<char>('a' + c.below(5)));
  attempt([&] { file.floats(name); });
  attempt([&] { file.ints(name); });
  attempt([&] { file.longs(name); });
  attempt([&] { file.octets(name); });
  attempt([&] { file.tensor(name); });
  attempt([&] { file.meta(name); });
  attempt([&] {
    file.seal();
    const std::vector<std::byte> bytes = file.serialize();
    if (SafetensorsFile::parse(bytes, "ours").serialize() != bytes) throw std::logic_error("a round trip");
    SafetensorsFile::parse(std::span(bytes).first(std::min(bytes.size(), c.size(bytes.size()))), "cut");
  });
}

}  // namespace

void api_base(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 60) switch (c.below(5)) {
      case 0: use_fields(c); break;
      case 1: use_tensors(c); break;
      case 2:
        attempt([&] {
          const Random random(c.below(256), static_cast<Purpose>(c.below(20)), static_cast<std::uint32_t>(c.below(9)));
          const std::size_t n = c.below(40);
          if (random.choice(c.below(256), n) >= n) throw std::logic_error("a choice that is none");
          const float u = random.uniform(c.below(256));
          if (!(u >= 0 && u < 1)) throw std::logic_error("a number outside [0, 1)");
          std::vector<int> values(n);
          random.shuffle(std::span(values));
        });
        break;
      case 3:
        attempt([&] {
          const ThreadPool pool(c.rarely() ? static_cast<int>(c.below(4)) - 2 : 1);
          const std::size_t items = c.below(50), chunk = c.below(8);
          const double ns = static_cast<double>(c.number());
          std::vector<int> seen(items);
          pool.for_chunks(items, chunk, ns, [&](Chunk k) {
            for (std::size_t i = k.begin; i < k.end; ++i) ++seen[i];
          });
          const auto sum = pool.reduce(
              items, chunk, ns, std::size_t{0}, [](Chunk k) { return k.end - k.begin; },
              [](std::size_t& a, const std::size_t& b) { a += b; });
          if (sum != items || std::ranges::count(seen, 1) != static_cast<std::ptrdiff_t>(items))
            throw std::logic_error("an item that was not done once");
        });
        break;
      default:
        attempt([&] {
          const std::vector<std::string> words(std::begin(kTexts), std::begin(kTexts) + c.below(std::size(kTexts)));
          nearest_word(text_of(c), words);
          dtype_name(static_cast<DType>(c.below(6)));
          dtype_size(static_cast<DType>(c.below(6)));
        });
    }
}

}  // namespace espalier::fuzz
