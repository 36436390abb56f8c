// Runs a check on every vector width of this machine.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <string>

template <class Check>
void for_each_target(Check check) {
  int ran = 0;
  for (std::int64_t left = hwy::SupportedTargets(); left; left &= left - 1) {
    const std::int64_t target = left & -left;
    if (target & HWY_BROKEN_TARGETS) continue;
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(hwy::TargetName(target));
    check();
    ++ran;
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GT(ran, 0);
}
