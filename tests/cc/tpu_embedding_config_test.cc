// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Parses configurations, compares them, and says what is wrong with them.
#include "cc/config/tpu_embedding_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cc/config_protos.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

using testing::ElementsAre;

// Returns the UTF-8 form of what the bytes are in Latin-1.
std::string ThroughJava(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    if (byte < 0x80) {
      text += static_cast<char>(byte);
    } else {
      text += static_cast<char>(0xC0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

TEST(TpuEmbeddingConfigTest, ReadsTables) {
  const auto config = Parsed([](Proto& proto) {
    proto.mutable_table_descriptor(0)->set_vocabulary_size(int64_t{1} << 33);
  });

  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->mode, Mode::kTraining);
  EXPECT_EQ(config->batch_size, 4);
  EXPECT_FALSE(config->feature_layout);
  ASSERT_EQ(config->tables.size(), 1u);
  const TableConfig& table = config->tables[0];
  EXPECT_EQ(table.name, "user");
  EXPECT_EQ(table.vocabulary_size, int64_t{1} << 33);
  EXPECT_EQ(table.dimension, 2);
  EXPECT_EQ(table.num_features, 1);
  EXPECT_EQ(table.optimizer, "stochastic_gradient_descent");
  EXPECT_EQ(table.learning_rate, 0.1f);
  EXPECT_TRUE(table.accumulate_gradients);
}

TEST(TpuEmbeddingConfigTest, ReadsFeatures) {
  const auto config = Parsed([](Proto& proto) {
    proto.set_batch_size_per_tensor_core(0);
    proto.mutable_table_descriptor(0)->set_num_features(0);
    auto* feature = proto.add_feature_descriptor();
    feature->set_name("watched");
    feature->add_input_shape(4);
    feature->add_input_shape(3);
  });

  ASSERT_THAT(config, IsOk());
  EXPECT_TRUE(config->feature_layout);
  ASSERT_EQ(config->features.size(), 1u);
  EXPECT_EQ(config->features[0].name, "watched");
  EXPECT_EQ(config->features[0].table, 0);
  EXPECT_THAT(config->features[0].shape, ElementsAre(4, 3));
}

TEST(TpuEmbeddingConfigTest, CountsTheCoresOfOneHost) {
  const auto config = Parsed([](Proto& proto) {
    proto.set_num_hosts(2);
    proto.set_num_tensor_cores(8);
    proto.set_sharding_strategy(Proto::MOD);
    proto.set_pipeline_execution_with_tensor_core(true);
  });

  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->num_hosts, 2);
  EXPECT_EQ(config->num_cores, 4);
  EXPECT_EQ(config->sharding, ShardingStrategy::kMod);
  EXPECT_TRUE(config->pipelined);
}

TEST(TpuEmbeddingConfigTest, HostsAndCoresLeftOutAreOne) {
  const auto config = Parsed([](Proto& proto) {
    proto.clear_num_hosts();
    proto.clear_num_tensor_cores();
  });

  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->num_hosts, 1);
  EXPECT_EQ(config->num_cores, 1);
}

TEST(TpuEmbeddingConfigTest, AcceptsWhatAJavaStringMakesOfIt) {
  const std::string text = ThroughJava(Bytes());
  ASSERT_NE(text, Bytes());

  const auto config = ParseTpuEmbeddingConfig(text);

  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->tables[0].learning_rate, 0.1f);
}

TEST(TpuEmbeddingConfigTest, SameConfigs) {
  EXPECT_THAT(CheckSameConfig(Bytes(), Bytes()), IsOk());
  EXPECT_THAT(CheckSameConfig(Bytes(), ThroughJava(Bytes())), IsOk());
  EXPECT_THAT(CheckSameConfig(ThroughJava(Bytes()), Bytes()), IsOk());
  // The last value of a scalar counts: other bytes, equal message.
  EXPECT_THAT(
      CheckSameConfig(Bytes(), Bytes([](Proto& proto) {
                                 proto.set_batch_size_per_tensor_core(9);
                               }) + Bytes([](Proto& proto) {
                                 proto.clear_table_descriptor();
                               })),
      IsOk());
}

TEST(TpuEmbeddingConfigTest, NamesTheFirstDifference) {
  EXPECT_THAT(
      CheckSameConfig(Bytes(),
                      Bytes([](Proto& proto) { proto.set_num_hosts(2); })),
      IsInvalidArgument("config must equal the configured one, differs in "
                        "num_hosts: configured 1, got 2"));
}

TEST(TpuEmbeddingConfigTest, RefusesBytesThatDoNotParse) {
  const char* message =
      "Malformed tpu_embedding_config: it must be a serialized "
      "TPUEmbeddingConfiguration, got 2 bytes that do not parse as one";

  EXPECT_THAT(ParseTpuEmbeddingConfig("\xff\xff"), IsInvalidArgument(message));
  EXPECT_THAT(CheckSameConfig(Bytes(), "\xff\xff"), IsInvalidArgument(message));
  // Valid UTF-8, of which the Latin-1 form does not parse either.
  EXPECT_THAT(ParseTpuEmbeddingConfig("\xc3\xbf"), IsInvalidArgument(message));
  // UTF-8 cut off.
  EXPECT_THAT(ParseTpuEmbeddingConfig("\n\xc3"), IsInvalidArgument(message));
}

TEST(TpuEmbeddingConfigTest, RefusesEnumValuesThatDoNotExist) {
  EXPECT_THAT(
      Parsed([](Proto& proto) { proto.set_mode(static_cast<Proto::Mode>(4)); }),
      IsInvalidArgument("mode must be 1, 2 or 3, got 4"));
  EXPECT_THAT(
      Parsed([](Proto& proto) {
        proto.set_sharding_strategy(static_cast<Proto::ShardingStrategy>(2));
      }),
      IsInvalidArgument("sharding_strategy must be 0 or 1, got 2"));
}

TEST(TpuEmbeddingConfigTest, RefusesTopologiesThatDoNotFit) {
  EXPECT_THAT(Parsed([](Proto& proto) { proto.set_num_hosts(-1); }),
              IsInvalidArgument("num_hosts must be >= 0, got -1"));
  EXPECT_THAT(Parsed([](Proto& proto) { proto.set_num_tensor_cores(-2); }),
              IsInvalidArgument("num_tensor_cores must be >= 0, got -2"));
  EXPECT_THAT(Parsed([](Proto& proto) {
                proto.set_num_hosts(2);
                proto.set_num_tensor_cores(3);
              }),
              IsInvalidArgument("num_tensor_cores must be a multiple of "
                                "num_hosts (2), got 3"));
}

// Returns four cores, and the sharding of them with `fields` on top.
auto ParsedSpmdSharding(int cores_per_replica, const std::string& fields = "") {
  return Parsed([&](Proto& proto) {
    proto.set_num_tensor_cores(4);
    auto* spmd = proto.mutable_spmd_sharding();
    spmd->set_enabled(true);
    spmd->set_num_cores_per_replica(cores_per_replica);
    ASSERT_TRUE(spmd->MergeFromString(fields));
  });
}

TEST(TpuEmbeddingConfigTest, ChecksSpmdSharding) {
  EXPECT_THAT(ParsedSpmdSharding(2), IsOk());
  EXPECT_THAT(ParsedSpmdSharding(0),
              IsInvalidArgument(
                  "spmd_sharding.num_cores_per_replica must be >= 1 and divide "
                  "the number of cores (4), got 0"));
  EXPECT_THAT(ParsedSpmdSharding(3),
              IsInvalidArgument(
                  "spmd_sharding.num_cores_per_replica must be >= 1 and divide "
                  "the number of cores (4), got 3"));
}

TEST(TpuEmbeddingConfigTest, ChecksManualPartitioning) {
  if (!Proto::SpmdSharding::descriptor()->FindFieldByName(
          "use_manual_partitioning")) {
    GTEST_SKIP() << "TensorFlow before 2.19 has no manual partitioning";
  }
  // Field 3, by its number: earlier headers lack it.
  const std::string manual = "\x18\x01";

  EXPECT_THAT(ParsedSpmdSharding(1, manual), IsOk());
  EXPECT_THAT(ParsedSpmdSharding(2, manual),
              StatusIs(StatusCode::kUnimplemented,
                       "spmd_sharding.use_manual_partitioning must be false "
                       "with several cores a replica (2), got true"));
}

TEST(TpuEmbeddingConfigTest, TellsOneCoreFromAReplica) {
  const auto check = [](bool enabled, int cores_per_replica) {
    Proto proto;
    proto.mutable_spmd_sharding()->set_enabled(enabled);
    proto.mutable_spmd_sharding()->set_num_cores_per_replica(cores_per_replica);
    return CheckSpeaksForOneCore(proto.SerializeAsString());
  };

  EXPECT_THAT(check(false, 2), IsOk());
  EXPECT_THAT(check(true, 1), IsOk());
  EXPECT_THAT(check(true, 2),
              StatusIs(StatusCode::kUnimplemented,
                       "spmd_sharding over several cores a replica (2) must be "
                       "in the program of a TPUStrategy, and in no function of "
                       "it"));
}

TEST(TpuEmbeddingConfigTest, ChecksWhatItHasParsed) {
  EXPECT_THAT(Parsed([](Proto& proto) {
                proto.mutable_table_descriptor(0)->set_dimension(0);
              }),
              IsInvalidArgument("table 'user': dimension must be > 0, got 0"));
}

}  // namespace
}  // namespace tpuless
