package judge;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;

/** Scores the rows of each folder by its model, in the classes of an engine. */
abstract class Judge {
    /** Read a model from the body of its upload. */
    abstract void read(String body, List<Object> names);

    /** Score a row, in which NaN is a missing value. */
    abstract float score(float[] row);

    @SuppressWarnings("unchecked")
    void run(String[] folders) throws IOException {
        for (String folder : folders) {
            Path path = Paths.get(folder);
            List<Object> names = (List<Object>) Stubs.parse(text(path, "names.json"));
            try {
                read(text(path, "body.json"), names);
            } catch (RuntimeException e) {
                Throwable cause = e;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                Files.writeString(path.resolve("error"), String.valueOf(cause.getMessage()));
                continue;
            }
            ByteBuffer rows = ByteBuffer.wrap(Files.readAllBytes(path.resolve("rows")));
            ByteBuffer scores = ByteBuffer.allocate(rows.limit() / names.size());
            float[] row = new float[names.size()];
            while (rows.hasRemaining()) {
                for (int j = 0; j < row.length; j++) {
                    row[j] = rows.getFloat();
                }
                scores.putFloat(score(row));
            }
            Files.write(path.resolve("scores"), scores.array());
        }
    }

    private static String text(Path folder, String name) throws IOException {
        return Files.readString(folder.resolve(name));
    }
}
