(function_declaration name: (identifier) @name) @function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @owner
        (pointer_type (type_identifier) @owner)
        (generic_type type: (type_identifier) @owner)
        (pointer_type (generic_type type: (type_identifier) @owner))
      ]))
  name: (field_identifier) @name) @method

; A declaration of one name is the symbol; of several, each line of it is.
(source_file (type_declaration . (type_spec) .) @wrap)
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(source_file (type_declaration (type_alias name: (type_identifier) @name)) @type)
(method_elem name: (field_identifier) @name) @declaration

(source_file (const_declaration . (const_spec) .) @wrap)
(source_file (const_declaration (const_spec name: (identifier) @name) @constant))
(source_file (var_declaration . (var_spec) .) @wrap)
(source_file (var_declaration (var_spec name: (identifier) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @variable)))

(comment) @lead
