; What an `impl` holds belongs to its type; what implements a trait has the trait in front.
(impl_item
  trait: [
    (type_identifier) @owner
    (scoped_type_identifier name: (type_identifier) @owner)
    (generic_type type: (type_identifier) @owner)
    (generic_type type: (scoped_type_identifier name: (type_identifier) @owner))
  ]?
  type: [
    (type_identifier) @name
    (primitive_type) @name
    (scoped_type_identifier name: (type_identifier) @name)
    (generic_type type: (type_identifier) @name)
    (generic_type type: (scoped_type_identifier name: (type_identifier) @name))
    (reference_type type: (type_identifier) @name)
  ]) @scope

(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @declaration
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(union_item name: (type_identifier) @name) @union
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name) @module
(macro_definition name: (identifier) @name) @macro

[
  (source_file (const_item name: (identifier) @name) @constant)
  (declaration_list (const_item name: (identifier) @name) @constant)
  (source_file (static_item name: (identifier) @name) @variable)
  (declaration_list (static_item name: (identifier) @name) @variable)
]

[(line_comment) (block_comment) (attribute_item)] @lead
; These belong to what is around them.
(inner_attribute_item) @inner
(line_comment inner: (_)) @inner
(block_comment inner: (_)) @inner
