// What the fuzzers feed, one function for each reader of files. Each takes any bytes; an Error is a good answer.
// Anything else that is thrown, a message of more than one line, or a value that does not survive its own
// round trip is a defect. The same functions run over the stored corpus in the ordinary tests.
#pragma once

#include <cstddef>
#include <span>

namespace espalier::fuzz {

void safetensors(std::span<const std::byte> bytes);
void pattern(std::span<const std::byte> bytes);
void png(std::span<const std::byte> bytes);
void config(std::span<const std::byte> bytes);
void npz(std::span<const std::byte> bytes);  // .npy, too
void rle(std::span<const std::byte> bytes);
void rule(std::span<const std::byte> bytes);          // notation and table
void netlist_json(std::span<const std::byte> bytes);  // these three in circuit_entries.cpp
void blif(std::span<const std::byte> bytes);
void aiger(std::span<const std::byte> bytes);
void graph_json(std::span<const std::byte> bytes);  // these four in graph_entries.cpp
void graph_gxl(std::span<const std::byte> bytes);
void csv(std::span<const std::byte> bytes);
void simplify_lines(std::span<const std::byte> bytes);

struct Entry {
  const char* name;  // also the folder of its corpus
  void (*run)(std::span<const std::byte>);
};
inline constexpr Entry kEntries[] = {{"safetensors", safetensors},
                                     {"pattern", pattern},
                                     {"png", png},
                                     {"config", config},
                                     {"npz", npz},
                                     {"rle", rle},
                                     {"rule", rule},
                                     {"netlist_json", netlist_json},
                                     {"blif", blif},
                                     {"aiger", aiger},
                                     {"graph_json", graph_json},
                                     {"graph_gxl", graph_gxl},
                                     {"csv", csv},
                                     {"simplify_lines", simplify_lines}};

}  // namespace espalier::fuzz
