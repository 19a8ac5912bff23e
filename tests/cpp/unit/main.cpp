// The program of the unit tests. Each of the other files is about one of the small classes of the core.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
