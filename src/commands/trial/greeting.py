def greet(name):
    return "Hello, " + name + "!"


def part(name):
    return "Goodbye, " + name + "!"


if __name__ == "__main__":
    print(greet("Ana"))
    print(part("Ana"))
