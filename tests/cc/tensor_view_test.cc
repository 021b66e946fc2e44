// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Sizes and text of shapes.
#include "cc/engine/tensor_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tpuless {
namespace {

TEST(TensorViewTest, SizeIsTheProductOfTheDimensions) {
  TensorView view;
  EXPECT_EQ(view.rank(), 0);
  EXPECT_EQ(view.size(), 1);

  view.shape = {2, 3};
  EXPECT_EQ(view.rank(), 2);
  EXPECT_EQ(view.size(), 6);

  view.shape = {2, 0};
  EXPECT_EQ(view.size(), 0);
}

TEST(ShapeStringTest, IsThatOfAPythonList) {
  EXPECT_EQ(ShapeString({}), "[]");
  EXPECT_EQ(ShapeString({5}), "[5]");
  EXPECT_EQ(ShapeString({2, 3}), "[2, 3]");
}

}  // namespace
}  // namespace tpuless
