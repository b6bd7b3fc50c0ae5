(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method

[(line_comment) (block_comment)] @lead
