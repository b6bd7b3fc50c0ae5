# llama.cpp has a small source for each kind of model, all with the same large headers: compiled sixteen at a time they take a fifth of
# the time. The sources of ggml define the same names and stay apart.
if(PROJECT_NAME STREQUAL "llama.cpp")
    set(CMAKE_UNITY_BUILD ON)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
else()
    set(CMAKE_UNITY_BUILD OFF)
endif()
