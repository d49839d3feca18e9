//! What little the highlighter knows of each language: one table.

/// How comments, strings and words look in one language.
pub(crate) struct Language {
    /// The names a code fence may have, in lower case.
    pub names: &'static [&'static str],
    pub keywords: &'static [&'static str],
    /// What begins a comment that ends with its line.
    pub line_comments: &'static [&'static str],
    pub block_comment: Option<(&'static str, &'static str)>,
    /// Quotes that must close on their line.
    pub quotes: &'static str,
    /// Quotes that may close on a later line; the longest first.
    pub long_quotes: &'static [&'static str],
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// Keywords count in any case.
    AnyCase,
    /// `'` also begins a lifetime.
    Lifetimes,
    /// `#` begins a comment only where a word could begin, and words have dashes.
    Words,
    /// Only what is between `<` and `>` is code.
    Tags,
    /// A line is what its first character says.
    Diff,
}

const NONE: Language = Language {
    names: &[],
    keywords: &[],
    line_comments: &[],
    block_comment: None,
    quotes: "\"'",
    long_quotes: &[],
    kind: Kind::Plain,
};

const C_LIKE: Language = Language {
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    ..NONE
};

#[rustfmt::skip]
const LANGUAGES: &[Language] = &[
    Language { names: &["rust", "rs"], kind: Kind::Lifetimes, quotes: "", long_quotes: &["\""], keywords: &[
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
        "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self",
        "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while"], ..C_LIKE },
    Language { names: &["python", "py"], line_comments: &["#"], long_quotes: &["\"\"\"", "'''"], keywords: &[
        "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def", "del", "elif", "else",
        "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match", "None",
        "nonlocal", "not", "or", "pass", "raise", "return", "self", "True", "try", "while", "with", "yield"], ..NONE },
    Language { names: &["javascript", "js", "jsx", "mjs", "typescript", "ts", "tsx"], long_quotes: &["`"], keywords: &[
        "abstract", "any", "as", "async", "await", "boolean", "break", "case", "catch", "class", "const", "continue",
        "debugger", "declare", "default", "delete", "do", "else", "enum", "export", "extends", "false", "finally", "for",
        "from", "function", "if", "implements", "import", "in", "instanceof", "interface", "keyof", "let", "namespace",
        "new", "null", "number", "of", "private", "protected", "public", "readonly", "return", "static", "string",
        "super", "switch", "this", "throw", "true", "try", "type", "typeof", "undefined", "unknown", "var", "void",
        "while", "yield"], ..C_LIKE },
    Language { names: &["go", "golang"], long_quotes: &["`"], keywords: &[
        "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "false", "for", "func",
        "go", "goto", "if", "import", "interface", "iota", "map", "nil", "package", "range", "return", "select",
        "struct", "switch", "true", "type", "var"], ..C_LIKE },
    Language { names: &["java", "kotlin", "kt", "scala"], long_quotes: &["\"\"\""], keywords: &[
        "abstract", "boolean", "break", "byte", "case", "catch", "char", "class", "continue", "default", "do", "double",
        "else", "enum", "extends", "false", "final", "finally", "float", "for", "fun", "if", "implements", "import",
        "instanceof", "int", "interface", "long", "new", "null", "object", "override", "package", "private", "protected",
        "public", "record", "return", "short", "static", "super", "switch", "synchronized", "this", "throw", "throws",
        "true", "try", "val", "var", "void", "volatile", "when", "while"], ..C_LIKE },
    Language { names: &["c", "h", "cpp", "c++", "cc", "cxx", "hpp"], keywords: &[
        "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr", "continue", "default", "delete",
        "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long",
        "namespace", "new", "nullptr", "NULL", "operator", "private", "protected", "public", "register", "return",
        "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef",
        "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "include", "define", "ifdef",
        "ifndef", "endif"], ..C_LIKE },
    Language { names: &["csharp", "c#", "cs"], keywords: &[
        "abstract", "as", "async", "await", "base", "bool", "break", "byte", "case", "catch", "char", "class", "const",
        "continue", "decimal", "default", "delegate", "do", "double", "else", "enum", "event", "false", "finally",
        "float", "for", "foreach", "get", "if", "in", "int", "interface", "internal", "is", "lock", "long", "namespace",
        "new", "null", "object", "out", "override", "params", "private", "protected", "public", "readonly", "record",
        "ref", "return", "sealed", "set", "static", "string", "struct", "switch", "this", "throw", "true", "try",
        "typeof", "using", "var", "virtual", "void", "while", "yield"], ..C_LIKE },
    Language { names: &["ruby", "rb"], line_comments: &["#"], keywords: &[
        "alias", "and", "begin", "break", "case", "class", "def", "do", "else", "elsif", "end", "ensure", "false", "for",
        "if", "in", "module", "next", "nil", "not", "or", "puts", "raise", "redo", "require", "rescue", "retry",
        "return", "self", "super", "then", "true", "undef", "unless", "until", "when", "while", "yield"], ..NONE },
    Language { names: &["php"], line_comments: &["//", "#"], keywords: &[
        "abstract", "array", "as", "break", "case", "catch", "class", "const", "continue", "default", "do", "echo",
        "else", "elseif", "enum", "extends", "false", "final", "finally", "fn", "for", "foreach", "function", "if",
        "implements", "include", "instanceof", "interface", "isset", "match", "namespace", "new", "null", "private",
        "protected", "public", "readonly", "require", "return", "static", "switch", "this", "throw", "trait", "true",
        "try", "unset", "use", "var", "while", "yield"], ..C_LIKE },
    Language { names: &["shell", "sh", "bash", "zsh", "console"], line_comments: &["#"], quotes: "",
        long_quotes: &["\"", "'"], kind: Kind::Words, keywords: &[
        "case", "cd", "do", "done", "echo", "elif", "else", "esac", "eval", "exec", "exit", "export", "fi", "for",
        "function", "if", "in", "local", "read", "return", "set", "shift", "source", "sudo", "then", "trap", "unset",
        "until", "while"], ..NONE },
    Language { names: &["sql", "postgresql", "sqlite", "mysql"], line_comments: &["--"],
        block_comment: Some(("/*", "*/")), quotes: "", long_quotes: &["'", "\""], kind: Kind::AnyCase, keywords: &[
        "add", "all", "alter", "and", "as", "asc", "begin", "between", "by", "case", "check", "column", "commit",
        "constraint", "create", "cross", "default", "delete", "desc", "distinct", "drop", "else", "end", "exists",
        "false", "foreign", "from", "full", "group", "having", "in", "index", "inner", "insert", "into", "is", "join",
        "key", "left", "like", "limit", "not", "null", "offset", "on", "or", "order", "outer", "primary", "references",
        "returning", "right", "rollback", "select", "set", "table", "then", "transaction", "true", "union", "unique",
        "update", "using", "values", "view", "when", "where", "with"] },
    Language { names: &["json", "jsonc", "json5"], quotes: "\"", keywords: &["true", "false", "null"], ..C_LIKE },
    Language { names: &["yaml", "yml"], line_comments: &["#"], kind: Kind::Words,
        keywords: &["true", "false", "null", "yes", "no", "on", "off"], ..NONE },
    Language { names: &["toml", "ini"], line_comments: &["#"], long_quotes: &["\"\"\"", "'''"],
        keywords: &["true", "false"], ..NONE },
    Language { names: &["html", "xml", "xhtml", "vue", "svelte"], block_comment: Some(("<!--", "-->")),
        quotes: "", long_quotes: &["\"", "'"], kind: Kind::Tags, ..NONE },
    Language { names: &["css", "scss", "less"], block_comment: Some(("/*", "*/")), kind: Kind::Words, keywords: &[
        "media", "import", "supports", "keyframes", "layer", "font-face", "important", "root", "var", "from", "to",
        "and", "not", "inherit", "initial", "unset", "none", "auto"], ..NONE },
    Language { names: &["diff", "patch"], kind: Kind::Diff, ..NONE },
];

/// The language a code fence names in its first word.
pub(crate) fn named(fence: &str) -> Option<&'static Language> {
    let name = fence.split([' ', ',', '{', '\t']).next()?;
    let name = name.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|language| language.names.contains(&name.as_str()))
}
