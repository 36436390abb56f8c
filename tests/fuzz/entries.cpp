#include "fuzz/entries.hpp"

#include "base/life_rule.hpp"
#include "base/npz.hpp"
#include "base/pattern.hpp"
#include "base/rle.hpp"
#include "codecs.hpp"
#include "espalier/run.hpp"
#include "espalier/safetensors.hpp"
#include "fuzz/read_or_refuse.hpp"

namespace espalier::fuzz {
void safetensors(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const SafetensorsFile file = SafetensorsFile::parse(bytes, "input");
    const auto written = file.serialize();
    const SafetensorsFile again = SafetensorsFile::parse(written, "our own output");
    expect(again.metadata == file.metadata, "metadata survives a round trip");
    expect(again.serialize() == written, "tensors survive a round trip");
  });
}

void pattern(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const Pattern p = parse_pattern_file(bytes, "input");
    expect(p.channels == 1 || p.channels == 3, "a pattern has one or three channels");
    const Pattern again = parse_pattern(format_pattern(p), "our own output");
    expect(again.height == p.height && again.width == p.width, "a pattern keeps its size");
    // Three channels that happen to be all black are read back as one channel of zeros.
    if (again.channels == p.channels) expect(again.bits == p.bits, "a pattern survives a round trip");
  });
}

void png(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const Image image = decode_png(bytes, "input");
    if (image.rgb.size() > (1 << 20)) return;  // large ones only cost time
    expect(decode_png(encode_png(image), "our own output").rgb == image.rgb, "an image survives a round trip");
  });
}

void npz(std::span<const std::byte> bytes) {
  const auto convert = [](const NumpyArray& array) {
    read_or_refuse([&] { array.floats("array"); });
    read_or_refuse([&] { array.octets("array"); });
    read_or_refuse([&] { array.longs("array"); });
  };
  read_or_refuse([&] {
    const NumpyArray array = parse_npy(bytes, "input");
    convert(array);
    expect(parse_npy(encode_npy(array), "our own output") == array, "an array survives a round trip");
  });
  read_or_refuse([&] {
    const NpzFile file = NpzFile::parse({bytes.begin(), bytes.end()}, "input");
    std::map<std::string, NumpyArray> arrays;
    for (const std::string& name : file.names())
      read_or_refuse([&] {
        const NumpyArray array = file.array(name);
        if (array.bytes.size() > (1 << 20)) return;  // large ones only cost time
        convert(array);
        arrays[name] = array;
      });
    const NpzFile again = NpzFile::parse(encode_npz(arrays), "our own output");
    for (const auto& [name, array] : arrays) expect(again.array(name) == array, "an array survives a round trip");
  });
}

void rle(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const RlePattern p = parse_rle(text_of(bytes), "input");
    expect(is_rle(text_of(bytes)), "what can be read is known for what it is");
    expect(p.cells.size() == static_cast<std::size_t>(p.height) * static_cast<std::size_t>(p.width), "a full board");
    if (p.cells.size() > (1 << 20)) return;  // large ones only cost time
    expect(parse_rle(format_rle(p), "our own output") == p, "a pattern survives a round trip");
  });
}

void rule(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  read_or_refuse([&] {
    const RuleTable table = parse_life_rule(text);
    const auto name = format_life_rule(table);
    expect(name && parse_life_rule(*name) == table, "a rule survives a round trip");
  });
  read_or_refuse([&] {
    const RuleTable table = parse_rule_table(text, "input");
    expect(parse_rule_table(format_rule_table(table), "our own output") == table, "a table survives a round trip");
  });
}

void config(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const std::string parsed = RunConfig::parse(text_of(bytes), "input", all_tasks()).text();
    expect(RunConfig::parse(parsed, "our own output", all_tasks()).text() == parsed,
           "a checked configuration survives a round trip");
  });
}

}  // namespace espalier::fuzz
