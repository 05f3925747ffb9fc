package judge;

import java.io.Closeable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** What the engines' classes of models import, as far as reading and scoring uses it. */
public class Stubs {
    @Retention(RetentionPolicy.SOURCE)
    public @interface Nullable {}

    // Lucene

    public interface Accountable {
        long ramBytesUsed();
    }

    public static class RamUsageEstimator {
        public static final int NUM_BYTES_OBJECT_HEADER = 0;
        public static final int QUERY_DEFAULT_RAM_BYTES_USED = 0;

        public static long shallowSizeOfInstance(Class<?> type) {
            return 0;
        }

        public static long sizeOf(Object anything) {
            return 0;
        }

        public static long sizeOfObject(Object anything) {
            return 0;
        }

        public static long sizeOfObject(Object anything, long otherwise) {
            return 0;
        }
    }

    public static class LeafReaderContext {}

    public static class Explanation {
        private final Number value;

        private Explanation(Number value) {
            this.value = value;
        }

        public static Explanation match(Number value, String text, Object... details) {
            return new Explanation(value);
        }

        public Number getValue() {
            return value;
        }
    }

    // Solr

    public static class Feature {
        private final String name;

        public Feature(String name) {
            this.name = name;
        }

        public String getName() {
            return name;
        }
    }

    public static class SolrResourceLoader {
        public <T> T newInstance(String name, Class<T> type) {
            return newInstance(name, type, new String[0], new Class<?>[0], new Object[0]);
        }

        public <T> T newInstance(
                String name, Class<T> type, String[] packages, Class<?>[] kinds, Object[] given) {
            try {
                return type.cast(Class.forName(name).getConstructor(kinds).newInstance(given));
            } catch (ReflectiveOperationException e) {
                throw new IllegalArgumentException(e);
            }
        }
    }

    // Elasticsearch and OpenSearch

    public static class FeatureSet {
        private final Map<String, Integer> ordinals = new HashMap<>();

        public FeatureSet(List<Object> names) {
            names.forEach(name -> ordinals.put((String) name, ordinals.size()));
        }

        public String name() {
            return "features";
        }

        public int size() {
            return ordinals.size();
        }

        public boolean hasFeature(String name) {
            return ordinals.containsKey(name);
        }

        public int featureOrdinal(String name) {
            return ordinals.get(name);
        }
    }

    public static class ParsingException extends RuntimeException {
        public ParsingException(Object place, String message) {
            super(message);
        }

        public ParsingException(Object place, String message, Throwable cause) {
            super(message + ": " + cause.getMessage(), cause);
        }
    }

    public static class ElasticsearchException extends RuntimeException {
        public ElasticsearchException(String message) {
            super(message);
        }
    }

    public static class OpenSearchException extends RuntimeException {
        public OpenSearchException(String message) {
            super(message);
        }
    }

    // what is only there to store a model

    public interface StreamInput {
        String readString();

        float readFloat();

        int readInt();

        <E extends Enum<E>> E readEnum(Class<E> type);
    }

    public interface StreamOutput {
        void writeString(String text);

        void writeFloat(float number);

        void writeInt(int number);

        <E extends Enum<E>> void writeEnum(E value);
    }

    public interface Writeable {
        void writeTo(StreamOutput out) throws java.io.IOException;
    }

    public interface ToXContent {
        XContentBuilder toXContent(XContentBuilder builder, Params params)
                throws java.io.IOException;

        interface Params {}
    }

    public interface XContentBuilder {
        void startObject();

        void endObject();

        void field(String name);

        void field(String name, float number);
    }

    public static class XContentParseException extends RuntimeException {
        public XContentParseException(String message) {
            super(message);
        }
    }

    public static class NamedXContentRegistry {
        public static final Object EMPTY = new Object();
    }

    public static class XContentParserConfiguration {
        public static final Object EMPTY = new Object();
    }

    public static class LoggingDeprecationHandler {
        public static final Object INSTANCE = new Object();
    }

    public static class JsonXContent {
        public static final JsonXContent jsonXContent = new JsonXContent();

        public XContentParser createParser(Object configuration, String text) {
            return new XContentParser(text);
        }

        public XContentParser createParser(Object registry, Object handler, String text) {
            return new XContentParser(text);
        }
    }

    /** JSON as tokens, one after another. */
    public static class XContentParser implements Closeable {
        public enum Token {
            START_OBJECT, END_OBJECT, START_ARRAY, END_ARRAY, FIELD_NAME,
            VALUE_STRING, VALUE_NUMBER, VALUE_BOOLEAN, VALUE_NULL
        }

        private final List<Token> tokens = new ArrayList<>();
        private final List<String> texts = new ArrayList<>();
        private int at = -1;
        private String name;

        XContentParser(String json) {
            List<Boolean> inObject = new ArrayList<>();
            boolean isName = false;
            for (int i = 0; i < json.length(); i++) {
                char c = json.charAt(i);
                int depth = inObject.size();
                if (c == '{' || c == '[') {
                    add(c == '{' ? Token.START_OBJECT : Token.START_ARRAY, null);
                    inObject.add(isName = c == '{');
                } else if (c == '}' || c == ']') {
                    add(c == '}' ? Token.END_OBJECT : Token.END_ARRAY, null);
                    inObject.remove(depth - 1);
                } else if (c == ',') {
                    isName = inObject.get(depth - 1);
                } else if (c == ':') {
                    isName = false;
                } else if (c == '"') {
                    StringBuilder text = new StringBuilder();
                    for (i++; json.charAt(i) != '"'; i++) {
                        char d = json.charAt(i);
                        if (d == '\\') {
                            d = json.charAt(++i);
                            if (d == 'u') {
                                d = (char) Integer.parseInt(json.substring(i + 1, i + 5), 16);
                                i += 4;
                            } else if ("bfnrt".indexOf(d) >= 0) {
                                d = "\b\f\n\r\t".charAt("bfnrt".indexOf(d));
                            }
                        }
                        text.append(d);
                    }
                    add(isName ? Token.FIELD_NAME : Token.VALUE_STRING, text.toString());
                } else if (!Character.isWhitespace(c)) {
                    int end = i;
                    while (end < json.length() && ",]} \n".indexOf(json.charAt(end)) < 0) {
                        end++;
                    }
                    String word = json.substring(i, end);
                    if (word.equals("true") || word.equals("false")) {
                        add(Token.VALUE_BOOLEAN, word);
                    } else {
                        add(word.equals("null") ? Token.VALUE_NULL : Token.VALUE_NUMBER, word);
                    }
                    i = end - 1;
                }
            }
        }

        private void add(Token token, String text) {
            tokens.add(token);
            texts.add(text);
        }

        public Token nextToken() {
            at++;
            if (currentToken() == Token.FIELD_NAME) {
                name = text();
            }
            return currentToken();
        }

        public Token currentToken() {
            return 0 <= at && at < tokens.size() ? tokens.get(at) : null;
        }

        public String currentName() {
            return name;
        }

        public String text() {
            return texts.get(at);
        }

        public float floatValue() {
            return (float) Double.parseDouble(text());
        }

        public Object getTokenLocation() {
            return at;
        }

        @Override
        public void close() {}

        /** The value that begins at the current token, as lists, maps, text and numbers. */
        Object value() {
            switch (currentToken()) {
                case START_OBJECT:
                    Map<String, Object> map = new LinkedHashMap<>();
                    while (nextToken() != Token.END_OBJECT) {
                        String key = text();
                        nextToken();
                        map.put(key, value());
                    }
                    return map;
                case START_ARRAY:
                    List<Object> list = new ArrayList<>();
                    while (nextToken() != Token.END_ARRAY) {
                        list.add(value());
                    }
                    return list;
                case VALUE_NUMBER:
                    boolean isWhole = text().matches("-?\\d+");
                    return isWhole ? (Object) Long.valueOf(text()) : Double.valueOf(text());
                case VALUE_BOOLEAN:
                    return Boolean.valueOf(text());
                default:
                    return text();
            }
        }
    }

    public static Object parse(String json) {
        XContentParser parser = new XContentParser(json);
        parser.nextToken();
        return parser.value();
    }

    public static class ParseField {
        final String name;

        public ParseField(String name) {
            this.name = name;
        }

        public String getPreferredName() {
            return name;
        }
    }

    public interface ContextParser<C, T> {
        T parse(XContentParser parser, C context) throws java.io.IOException;
    }

    /** A reader of objects by the fields that were declared. */
    public static class ObjectParser<V, C> implements ContextParser<C, V> {
        private final String name;
        private final boolean ignoresUnknown;
        private final Function<C, V> builder;
        private final Map<String, Reader<V, C>> fields = new HashMap<>();

        private interface Reader<V, C> {
            void read(XContentParser parser, V value, C context) throws java.io.IOException;
        }

        /** A reader of one of several objects, which have names. */
        public interface NamedObjectParser<T, C> {
            T parse(XContentParser parser, C context, String name)
                    throws java.io.IOException;
        }

        public ObjectParser(String name, Supplier<V> supplier) {
            this(name, false, supplier);
        }

        public ObjectParser(String name, boolean ignoresUnknown, Supplier<V> supplier) {
            this(name, ignoresUnknown, context -> supplier.get());
        }

        private ObjectParser(String name, boolean ignoresUnknown, Function<C, V> builder) {
            this.name = name;
            this.ignoresUnknown = ignoresUnknown;
            this.builder = builder;
        }

        public static <V, C> ObjectParser<V, C> fromBuilder(
                String name, Function<C, V> builder) {
            return new ObjectParser<>(name, false, builder);
        }

        @Override
        public V parse(XContentParser p, C context) {
            return apply(p, context);
        }

        private <T> void declare(
                BiConsumer<V, T> set, ContextParser<C, T> read, ParseField field) {
            fields.put(field.name, (p, v, c) -> set.accept(v, read.parse(p, c)));
        }

        private <T> void declareArray(
                BiConsumer<V, List<T>> set, ContextParser<C, T> read, ParseField field) {
            declare(set, (p, c) -> {
                expect(p, XContentParser.Token.START_ARRAY, field.name);
                List<T> list = new ArrayList<>();
                while (p.nextToken() != XContentParser.Token.END_ARRAY) {
                    list.add(read.parse(p, c));
                }
                return list;
            }, field);
        }

        private static String text(XContentParser p, XContentParser.Token token) {
            expect(p, token, "a value");
            return p.text();
        }

        private static void expect(XContentParser p, XContentParser.Token token, String what) {
            if (p.currentToken() != token) {
                throw new XContentParseException(what + " is " + p.currentToken());
            }
        }

        private static String number(XContentParser p) {
            return text(p, XContentParser.Token.VALUE_NUMBER);
        }

        public void declareString(BiConsumer<V, String> set, ParseField field) {
            declare(set, (p, c) -> text(p, XContentParser.Token.VALUE_STRING), field);
        }

        public void declareBoolean(BiConsumer<V, Boolean> set, ParseField field) {
            declare(
                    set,
                    (p, c) -> Boolean.valueOf(text(p, XContentParser.Token.VALUE_BOOLEAN)),
                    field);
        }

        public void declareInt(BiConsumer<V, Integer> set, ParseField field) {
            declare(set, (p, c) -> Integer.valueOf(number(p)), field);
        }

        public void declareFloat(BiConsumer<V, Float> set, ParseField field) {
            declare(set, (p, c) -> (float) Double.parseDouble(number(p)), field);
        }

        public void declareStringArray(BiConsumer<V, List<String>> set, ParseField field) {
            declareArray(set, (p, c) -> text(p, XContentParser.Token.VALUE_STRING), field);
        }

        public void declareIntArray(BiConsumer<V, List<Integer>> set, ParseField field) {
            declareArray(set, (p, c) -> Integer.valueOf(number(p)), field);
        }

        public void declareFloatArray(BiConsumer<V, List<Float>> set, ParseField field) {
            declareArray(set, (p, c) -> (float) Double.parseDouble(number(p)), field);
        }

        public <T> void declareObject(
                BiConsumer<V, T> set, ContextParser<C, T> read, ParseField field) {
            declare(set, read, field);
        }

        public <T> void declareObjectArray(
                BiConsumer<V, List<T>> set, ContextParser<C, T> read, ParseField field) {
            declareArray(set, read, field);
        }

        public V apply(XContentParser p, C context) {
            if (p.currentToken() != XContentParser.Token.START_OBJECT) {
                p.nextToken(); // from before the first token, or from a name
            }
            expect(p, XContentParser.Token.START_OBJECT, name);
            V value = builder.apply(context);
            while (p.nextToken() != XContentParser.Token.END_OBJECT) {
                Reader<V, C> reader = fields.get(p.currentName());
                String field = p.currentName();
                p.nextToken();
                if (reader == null && !ignoresUnknown) {
                    throw new XContentParseException("[" + name + "] unknown field " + field);
                }
                try {
                    if (reader == null) {
                        p.value();
                    } else {
                        reader.read(p, value, context);
                    }
                } catch (java.io.IOException e) {
                    throw new IllegalArgumentException(e);
                }
            }
            return value;
        }
    }
}
