# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# One binary a file in tests/cc/. The test of a file in cc/config/ is built
# where TensorFlow is, and by the target tensorflow_tests; all others see the
# engine alone, which is the same with every TensorFlow.

include(GoogleTest)

add_custom_target(tensorflow_tests)

file(GLOB cc_tests CONFIGURE_DEPENDS tests/cc/*_test.cc)
foreach(source IN LISTS cc_tests)
  get_filename_component(name "${source}" NAME_WE)
  string(REGEX REPLACE "_test$" "" tested "${name}")
  set(is_config_test OFF)
  if(EXISTS "${PROJECT_SOURCE_DIR}/cc/config/${tested}.cc")
    set(is_config_test ON)
  endif()
  if(is_config_test AND TPULESS_ENGINE_ONLY)
    continue()
  endif()

  add_executable(${name} "${source}")
  target_link_libraries(
    ${name}
    PRIVATE tpuless_engine tpuless_compile_options GTest::gmock_main
  )
  if(is_config_test)
    target_link_libraries(${name} PRIVATE tpuless_config tpuless_tensorflow)
    add_dependencies(tensorflow_tests ${name})
    set(label "tensorflow")
  else()
    set(label "engine")
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 300 PROPERTIES LABELS ${label})
endforeach()
