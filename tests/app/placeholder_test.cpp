#include <gtest/gtest.h>
TEST(App, Exists) { EXPECT_NE(std::string(ESPALIER_PROGRAM), ""); }
