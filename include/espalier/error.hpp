// The one exception type for users' mistakes. Its message has one form everywhere:
//   [op] got <what>, expected <what>; hint: <what to do>
// Example:
//   try {
//     fail("unique wiring", "3 outputs for 9 inputs", "2 x outputs >= inputs", "widen the layer");
//   } catch (const Error& error) {
//     const std::string message = error.what();  // one line, whatever the texts hold
//   }
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace espalier {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown out of parallel loops when the caller's StopFlag was raised (Ctrl-C, a hopeless seed).
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

[[noreturn]] void fail(std::string_view op, std::string_view got, std::string_view expected,
                       std::string_view hint = {});

}  // namespace espalier
