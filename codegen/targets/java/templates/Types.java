package ggufspec;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Every type of tensors: ggml's by their numbers, removed ones included, then the forks'. */
public final class Types {
  private static final List<TensorType> ALL = List.of(
@ROWS@
  );

  private static final Map<String, TensorType> BY_NAME =
      ALL.stream().collect(Collectors.toMap(TensorType::name, type -> type));

  private static final Map<Long, TensorType> BY_ID = ALL.stream()
      .filter(type -> type.id().isPresent())
      .collect(Collectors.toMap(type -> (long) type.id().getAsInt(), type -> type));

  private Types() {}

  /** All of them. */
  public static List<TensorType> all() {
    return ALL;
  }

  /** The type that a number in a file means. */
  public static Optional<TensorType> byId(long id) {
    return Optional.ofNullable(known(id));
  }

  /** A type by its name, as {@code Q4_K}. */
  public static Optional<TensorType> byName(String name) {
    return Optional.ofNullable(BY_NAME.get(name));
  }

  static TensorType known(long id) {
    return BY_ID.get(id);
  }
}
