(template_declaration) @wrap

(namespace_definition name: (_) @name) @module
(class_specifier name: [(type_identifier) (template_type name: (type_identifier)) (qualified_identifier)] @name body: (_)) @class
(struct_specifier name: [(type_identifier) (template_type name: (type_identifier)) (qualified_identifier)] @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @union
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(type_definition
  declarator: (function_declarator
    declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @type
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type

; Also `Type::method`, constructors, destructors and operators.
(function_definition
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
    (reference_declarator (function_declarator declarator: (_) @name))
  ]) @function
(function_definition declarator: (operator_cast) @name) @function

(declaration
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (reference_declarator (function_declarator declarator: (_) @name))
  ]) @declaration
(field_declaration
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (reference_declarator (function_declarator declarator: (_) @name))
  ]) @declaration

(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro

(translation_unit
  (declaration
    declarator: [
      (identifier) @name
      (init_declarator declarator: (identifier) @name)
      (init_declarator declarator: (array_declarator declarator: (identifier) @name))
      (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))
      (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))
    ]) @variable)

(comment) @lead
